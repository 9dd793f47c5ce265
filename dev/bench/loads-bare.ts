// The programs with which a load by loader/ is compared. Arguments: `parse` or `csv`, the address of the service, how many pushes
// are in flight, and files of each kind.
//   parse    csv-parse alone
//   csv      a script as an integrator would write it: rows by csv-parse, 500 a push
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { parse } from 'csv-parse';

const [way = '', url = '', inFlight = '', ...files] = process.argv.slice(2);
const inFlightMax = Number(inFlight);
const itemsPerPush = 500;

const rowsOf = (file: string) =>
  createReadStream(file).pipe(parse({ delimiter: ';', encoding: 'latin1', from_line: 2 }));

const dayOf = (text = ''): string => text.split('.').toReversed().join('-');

const itemOf: Readonly<Record<string, (row: string[]) => object>> = {
  suppliers: ([externalId, name, country, address, email, certifications = '', isEuOrigin]) => ({
    externalId,
    name,
    country,
    address,
    email,
    certifications: certifications.split(','),
    isEuOrigin: isEuOrigin === 'ja',
  }),
  products: ([externalId, name, category, country, hsCode, unit, supplierExternalId]) => ({
    externalId,
    name,
    category,
    country,
    hsCode,
    unit,
    supplierExternalId,
  }),
  batches: ([externalId, productExternalId, batchNumber, quantity = '', unit, received, expiry]) => ({
    externalId,
    productExternalId,
    batchNumber,
    quantity: Number(quantity.replaceAll('.', '').replace(',', '.')),
    unit,
    receivedDate: dayOf(received),
    expiryDate: dayOf(expiry),
  }),
};

async function post(kind: string, body: string): Promise<void> {
  const response = await fetch(`${url}/api/v1/integration/${kind}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${process.env['INTEGRATION_SYNC_KEY']}`,
      'content-type': 'application/json',
    },
    body,
  });
  if (!response.ok) throw new Error(`the push was answered ${response.status} ${await response.text()}`);
  await response.json();
}

async function* bodiesOf(kind: string, file: string): AsyncGenerator<string, void, undefined> {
  let items: object[] = [];
  for await (const row of rowsOf(file)) {
    items.push(itemOf[kind]?.(row) ?? {});
    if (items.length < itemsPerPush) continue;
    yield JSON.stringify({ [kind]: items });
    items = [];
  }
  if (items.length > 0) yield JSON.stringify({ [kind]: items });
}

async function pushAll(kind: string, file: string): Promise<void> {
  const flights = new Set<Promise<void>>();
  for await (const body of bodiesOf(kind, file)) {
    const flight = post(kind, body).finally(() => flights.delete(flight));
    flights.add(flight);
    if (flights.size >= inFlightMax) await Promise.race(flights);
  }
  await Promise.all(flights);
}

if (way === 'parse') {
  let rows = 0;
  for (const file of files) for await (const row of rowsOf(file)) rows += row.length > 0 ? 1 : 0;
  if (rows === 0) throw new Error('the files have no rows');
} else for (const file of files) await pushAll(basename(file, '.csv'), file);
