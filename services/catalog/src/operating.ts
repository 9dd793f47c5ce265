// What the commands in services/ops need of catalog: the documents of an integration, and its pushes under way.
import { openOperating } from '@integration-sync/sync';
import { suppliers } from './suppliers.ts';

export const catalogOperating = openOperating('catalog', [suppliers.plural, 'products']);
