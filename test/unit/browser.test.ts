import { expect, it } from 'vitest';
import { browsersWithProfile } from '../support/browser.ts';

// A test in a browser that silently is not run tests nothing. The tests of a person's machine may go without one, and say so.
it('Chromium is installed for the tests in a browser, or a log line says that these tests do not run', () => {
  if (browsersWithProfile.length === 0) {
    process.stderr.write(
      'The tests in a browser are left out: there is no Chromium (apt-get install chromium).\n',
    );
  }
  expect(browsersWithProfile.length > 0 || process.env['CI'] !== 'true').toBe(true);
});
