import { documentsAsTheyShouldBe } from '@integration-sync/dev/docs';
import { expect, it } from 'vitest';

it('lists the routes, fields, error codes and settings that there are (npm run docs writes them)', async () => {
  for (const { is, shouldBe } of await documentsAsTheyShouldBe()) expect(is).toBe(shouldBe);
});
