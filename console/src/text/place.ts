// Where an item stood in its push: people count from 1, and the interface from 0. Pure.

export const placeOf = (index: number): string => `${index + 1} (index ${index})`;
