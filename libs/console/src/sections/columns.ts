import type { Column } from '../console.types';

/**
 * Returns the columns of a list from a text of names and kinds, such as `id:link state dueAtMs:instant`. A name without a kind has
 * the kind `text`.
 */
export function columns(text: string): readonly Column[] {
  return text.split(' ').map((one) => {
    const [name = '', kind] = one.split(':');
    return { name, ...(kind !== undefined && { kind: kind as NonNullable<Column['kind']> }) };
  });
}
