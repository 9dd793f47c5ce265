// Chromium as a system brings it: where it is, and how it is started without a window.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

/** The path of Chromium, or no element if this machine has none: `it.each` then runs no test. */
export const browsers: readonly string[] = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => names.map((name) => join(folder, name)))
  .filter(isExecutable)
  .slice(0, 1);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Chromium's address bar is a page of its own, which takes a second of processor time in each new window. The switch
 * `--disable-features` replaces that of playwright-core, so this list repeats those of its features that matter to a
 * test.
 */
const withoutFeatures = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
];

export const switches: readonly string[] = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  `--disable-features=${withoutFeatures.join(',')}`,
];
