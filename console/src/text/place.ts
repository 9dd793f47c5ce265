// Where an item stood in its push: people count from 1, and the API from 0. Pure.

export const placeOf = (index: number): string => `${index + 1} (index ${index})`;
