// Guesses the field that a header of SAP, Dynamics, Business Central or Shopify means. A load never uses a guess alone: a person
// sees it first, in the console or in the map that `load --sample` prints.
import type { Kind } from '@integration-sync/client';
import { fieldsOf, reasonColumn, rowColumn } from '../kinds.ts';
import { fieldsOfHeader } from './columns.ts';
import { textOf, type Cell } from './convert.ts';

/** The plain form of a header: `Name 1`, `NAME_1` and `name1` have the same plain form. */
const plain = (header: string): string => header.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '');

const unit = 'meins (basis)?mengeneinheit bme einheit basiseinheitencode baseunitofmeasure';
const supplier =
  'lifnr lieferanten# kreditoren# kreditor(enkonto)? vendor(account|#) supplier# lieferant supplier vendor';
const product = 'matnr material# artikel# item# product# material';

/** The headers that such systems give each field, in plain form. Headers that fit better come first. `#` stands for a number. */
const headersOf: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  suppliers: {
    externalId: `${supplier} geschäftspartner partner n[or]`,
    name: 'name1 (namedes)?lieferanten(name)? firm(a|enname) (vendor|supplier)(organization)?name lieferant supplier vendor',
    code: 'sortl suchbegriff searchname',
    country: 'land1 landkz land länderschlüssel länder(regions)?code country(region|key|regioncode)',
    address: 'anschrift adresse',
    contactPerson: 'ansprechpartner kontakt (primary)?contact',
    email: 'smtpaddr mailadr emailadresse mail (primary)?emailaddress',
    phone: 'telf1 telnumber telefon1?(nr)? phone# telephone',
    certifications: 'zertifikate',
    isEuOrigin: 'eu',
  },
  products: {
    externalId: `${product} handle n[or]`,
    name: 'maktx material(kurztext|bezeichnung|description) artikel(name|bezeichnung) (product|item)name title bezeichnung beschreibung description',
    category: 'matkl warengruppe materialgroup productcategory materialart type',
    country: 'herkl ursprungsland(code)? country(region)?oforigin(code)?',
    hsCode: 'stawn statistischewarennummer zolltarifnummer tariffno',
    unit,
    code: '(variant)?sku bismt ean11 gtin',
    supplierExternalId: supplier,
  },
  batches: {
    externalId: 'batchid chargenid',
    productExternalId: product,
    batchNumber: 'charge? chargen# losnr lot# batch',
    quantity: 'menge labst clabs freiverwendbar (lager)?bestand unrestricted onhand inventory',
    unit,
    receivedDate: 'lwedt letzterwareneingang (waren)?eingangsdatum lastgoodsreceipt',
    expiryDate: 'vfdat (mhd)?verfallsdatum mhd ablaufdatum expirationdate sledbbd',
  },
};

/**
 * The likely fields of the columns whose headers are no names of fields. Each column has at most one field, and each field at
 * most one column. Known cells can exclude a field: an id, for example, has a digit.
 */
export function suggestedFields(
  header: readonly string[],
  sample: readonly (readonly Cell[])[],
  kind: Kind,
): (string | undefined)[] {
  const known = fieldsOfHeader(header, { kind });
  const found: (string | undefined)[] = header.map(() => undefined);
  const names = header.map(plain);
  // A map cannot tell two columns of the same name apart.
  const isFree = (name: string, at: number): boolean =>
    (known[at] ?? found[at]) === undefined && names.indexOf(name) === names.lastIndexOf(name);
  const isIdAt = (at: number): boolean => {
    const texts = sample.map((row) => textOf(row[at])).join('');
    return texts === '' || /\d/.test(texts);
  };
  for (const [field, { type }] of Object.entries(fieldsOf[kind])) {
    if (known.includes(field)) continue;
    for (const pattern of headersOf[kind][field]?.split(' ') ?? []) {
      const expression = new RegExp(`^(${pattern.replace('#', '(nummer|nr|number|no)')})$`);
      const at = names.findIndex(
        (name, one) => expression.test(name) && isFree(name, one) && (type !== 'id' || isIdAt(one)),
      );
      if (at < 0) continue;
      found[at] = field;
      break;
    }
  }
  return found;
}

/**
 * The columns of a map, with the fields that are known by name and the fields that are likely. Undefined if no field is likely.
 */
export function suggestedColumns(
  header: readonly string[],
  sample: readonly (readonly Cell[])[],
  kind: Kind,
): Record<string, string | null> | undefined {
  const suggested = suggestedFields(header, sample, kind);
  if (suggested.every((field) => field === undefined)) return undefined;
  const known = fieldsOfHeader(header, { kind });
  const fields = new Map(header.map((name, at) => [name, known[at] ?? suggested[at] ?? null]));
  for (const name of ['', rowColumn, reasonColumn]) fields.delete(name);
  return Object.fromEntries(fields);
}
