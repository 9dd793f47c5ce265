// Which build this process runs, as its metrics, its start line in the log and `nats micro info` show.
import manifest from '../package.json' with { type: 'json' };

export type Build = ReturnType<typeof buildOf>;

export const buildOf = ({ BUILD_REVISION: revision = 'unknown' }: { BUILD_REVISION?: string }) => ({
  version: manifest.version,
  /** The commit that the image was built from, if the image build set it. */
  revision,
});
