// The clock of the ledger: every process of the machine shares it, and no adjustment of the date moves it.

export const clockMs = (): number => Math.round(Number(process.hrtime.bigint()) / 1e3) / 1e3;
