import { expect, it } from 'vitest';
import { openGate } from '@integration-sync/runtime/gate';

const ticks = async (count: number): Promise<void> => {
  for (let tick = 0; tick < count; tick += 1) await Promise.resolve();
};

it('lets so many in at once and the others one by one, in the order in which they came', async () => {
  const gate = openGate(2);
  const doors = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
  const entered: number[] = [];
  const passing = doors.map(({ promise }, index) =>
    gate.pass(() => {
      entered.push(index);
      return promise;
    }),
  );
  await ticks(10);
  expect(entered).toEqual([0, 1]);
  doors[1]?.resolve(1);
  await ticks(10);
  expect(entered).toEqual([0, 1, 2]);
  for (const [index, door] of doors.entries()) door.resolve(index);
  expect(await Promise.all(passing)).toEqual([0, 1, 2, 3, 4]);
  expect(entered).toEqual([0, 1, 2, 3, 4]);
});

it('gives the place of whoever fails to the next', async () => {
  const gate = openGate(1);
  const failing = gate.pass(() => Promise.reject(new Error('no')));
  const throwing = gate.pass(() => {
    throw new Error('neither');
  });
  const going = gate.pass(() => Promise.resolve('yes'));
  await expect(failing).rejects.toThrow('no');
  await expect(throwing).rejects.toThrow('neither');
  await expect(going).resolves.toBe('yes');
  await expect(gate.pass(() => Promise.resolve('again'))).resolves.toBe('again');
});
