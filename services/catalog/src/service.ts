// The catalog service: suppliers and products. This file says which handler answers which subject.
import { subjects } from '@integration-sync/contracts';
import { erasableForMs, openLookup, recordService } from '@integration-sync/sync';
import { openExpectations } from './expectations/index.ts';
import { productsKind, resolveProducts } from './products.ts';
import { runsOfBatches } from './runs.ts';
import { suppliers } from './suppliers.ts';

export const startCatalog = recordService({
  service: 'catalog',
  description: 'Suppliers and products: pushes, listings, and answers to other services',
  async open(parts) {
    const { store, bus, openKinds } = parts;
    const products = productsKind(openLookup(store, suppliers, erasableForMs));
    const sync = await openKinds([suppliers, products]);
    const runsElsewhere = runsOfBatches(bus);
    const expectations = await openExpectations(parts, [sync.runs, runsElsewhere]);
    return {
      sync,
      pushes: {
        [subjects.suppliersPush]: sync.push(suppliers),
        [subjects.suppliersPlan]: sync.plan(suppliers),
        [subjects.suppliersArchive]: sync.changeStatus(suppliers, 'archive'),
        [subjects.suppliersErase]: sync.changeStatus(suppliers, 'erase'),
        [subjects.productsPush]: sync.push(products),
        [subjects.productsPlan]: sync.plan(products),
        [subjects.productsArchive]: sync.changeStatus(products, 'archive'),
      },
      others: {
        [subjects.suppliersList]: sync.list(suppliers),
        [subjects.productsList]: sync.list(products),
        [subjects.productsResolve]: resolveProducts(openLookup(store, products)),
        [subjects.catalogRunsList]: sync.listRuns(runsElsewhere),
        [subjects.catalogRunsGet]: sync.getRun(runsElsewhere),
        [subjects.catalogRunsUnannounced]: sync.answerUnannounced,
        [subjects.expectationsGet]: expectations.get,
        [subjects.expectationsSet]: expectations.set,
      },
    };
  },
});
