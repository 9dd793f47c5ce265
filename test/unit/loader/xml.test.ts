import { expect, it } from 'vitest';
import { attributesOf } from '../../../loader/src/core/reading/xml.ts';

it.each<[string, object]>([
  ['<c r="A1" t="s" s="12"/>', { r: 'A1', t: 's', s: '12' }],
  ["<sheet name='a=\"b\"' r:id=\"rId1\">", { name: 'a="b"', id: 'rId1' }],
  ['<sheet name="x > y, a=b &amp; c" state = "hidden"\n\tsheetId\n=\n"1">', { name: 'x > y, a=b & c', state: 'hidden', sheetId: '1' }],
  ['<numFmt formatCode="0&quot; kg&quot;" numFmtId="164"/>', { formatCode: '0" kg"', numFmtId: '164' }],
  ['<row>', {}],
  ['<row r=1 s="2">', { s: '2' }],
  ['<row r="1', {}],
  ['<a x=""y="1">', { x: '', y: '1' }],
])('the attributes of %j are read', (tag, expected) => {
  expect(attributesOf(tag)).toEqual(expected);
}); // oxfmt-ignore
