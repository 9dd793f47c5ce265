// What operators' commands need of catalog: the documents of an integration, and whether it still pushes.
import { openOperating } from '@integration-sync/sync';
import { suppliers } from './suppliers.ts';

export const catalogOperating = openOperating('catalog', [suppliers.plural, 'products']);
