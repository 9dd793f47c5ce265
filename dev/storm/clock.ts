// The clock of the ledger: one that every process of the machine shares, and that no adjustment of the date moves.

export const clockMs = (): number => Math.round(Number(process.hrtime.bigint()) / 1e3) / 1e3;
