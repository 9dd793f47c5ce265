// What operators' commands do with what catalog keeps.
import { openOperating } from '@integration-sync/sync';
import { suppliers } from './suppliers.ts';

export const catalogOperating = openOperating('catalog', [suppliers.plural, 'products']);
