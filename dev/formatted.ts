// Formats a generated text as `npm run format` formats the file of that path.
import { format } from 'oxfmt';
import { style } from '../oxfmt.config.ts';

export async function formatted(path: string, text: string): Promise<string> {
  const { code, errors } = await format(path, text, style);
  if (errors.length > 0) throw new Error(`${path}: ${errors.map(({ message }) => message).join(', ')}`);
  return code;
}
