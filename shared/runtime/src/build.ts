// Which build this process is: what its metrics, its start line and its place in `nats micro info` say.
import manifest from '../package.json' with { type: 'json' };

export interface Build {
  /** Of the release. */
  version: string;
  /** The commit, where the image was told of it. */
  revision: string;
}

export const buildOf = ({ BUILD_REVISION: revision = 'unknown' }: { BUILD_REVISION?: string }): Build => ({
  version: manifest.version,
  revision,
});
