import { readmeAsItShouldBe } from '@integration-sync/dev/readme';
import { expect, it } from 'vitest';

it('lists the routes and the settings that there are (npm run readme writes them)', async () => {
  const { is, shouldBe } = await readmeAsItShouldBe();
  expect(is).toBe(shouldBe);
});
