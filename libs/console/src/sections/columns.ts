import type { Column } from '../console.types';

/** Makes the columns of a list from their names and kinds, such as `id:link state dueAtMs:instant`; the kind `text` is left out. */
export function columns(text: string): readonly Column[] {
  return text.split(' ').map((one) => {
    const [name = '', kind] = one.split(':');
    return { name, ...(kind !== undefined && { kind: kind as NonNullable<Column['kind']> }) };
  });
}
