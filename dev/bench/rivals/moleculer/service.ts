// The service of the rival in Moleculer: an action that checks each item by the framework's fastest-validator, and
// job.ts.
import { ServiceBroker, type Context } from 'moleculer';
import { openJob, type Checked, type Supplier } from '../job.ts';
import { itemsMax } from '../settings.ts';
import { brokerOptions, type Meta } from './broker.ts';

const text = (max: number) => ({ type: 'string' as const, max, optional: true, nullable: true });

const broker = new ServiceBroker(brokerOptions('service'));
const verdictOn = broker.validator?.compile({
  externalId: { type: 'string', min: 1, max: 255 },
  name: { type: 'string', min: 1, max: 500 },
  code: text(500),
  country: { ...text(2), pattern: /^[A-Za-z]{2}$/ },
  address: text(1_000),
  contactPerson: text(500),
  email: { type: 'email', max: 500, optional: true, nullable: true },
  phone: text(500),
  certifications: {
    type: 'array',
    max: 100,
    items: { type: 'string', max: 500 },
    optional: true,
    nullable: true,
  },
  isEuOrigin: { type: 'boolean', optional: true, nullable: true },
});

function check(item: unknown): Checked {
  // `true`, or the list of the item's problems.
  const verdict: unknown = verdictOn?.(Object(item));
  const supplier: Supplier = Object(item);
  if (verdict === true) return { supplier };
  const problems: { message: string }[] = Array.isArray(verdict) ? verdict : [];
  const error = problems.map(({ message }) => message).join('; ');
  return { externalId: String(Reflect.get(supplier, 'externalId') ?? ''), error };
}

const job = await openJob();
broker.createService({
  name: 'suppliers',
  actions: {
    push: {
      params: { suppliers: { type: 'array', max: itemsMax } },
      handler: (context: Context<{ suppliers: unknown[] }, Meta>) =>
        job.push(context.meta.integration, context.params.suppliers.map(check)),
    },
  },
});
await broker.start();
process.on('disconnect', () => process.exit());
process.send?.('ready');
