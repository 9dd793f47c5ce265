// How texts are formatted. `npm run format` ignores also what .gitignore names.
import type { FormatConfig, OxfmtConfig } from 'oxfmt';

export const style: FormatConfig = {
  printWidth: 110,
  singleQuote: true,
  trailingComma: 'all',
};

export default {
  ...style,
  sortPackageJson: false,
  ignorePatterns: ['test/upgrade/data', 'deploy/helm/templates', 'test/chart/rendered'],
} satisfies OxfmtConfig;
