import { documentsAsTheyShouldBe } from '@integration-sync/dev/docs';
import { expect, it } from 'vitest';

it('the generated documents list the existing routes, fields, error codes and settings (npm run docs writes them)', async () => {
  for (const { is, shouldBe } of await documentsAsTheyShouldBe()) expect(is).toBe(shouldBe);
});
