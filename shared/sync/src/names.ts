// The collections of a service beside those of its records.

export interface CollectionNames {
  journal: string;
  watermarks: string;
  keys: string;
}

export const collectionNames = (service: string): CollectionNames => ({
  journal: `${service}_journal`,
  watermarks: `${service}_heads`,
  keys: `${service}_keys`,
});
