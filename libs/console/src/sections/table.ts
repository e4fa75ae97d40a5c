import type { Address, Column, Listing, Row, Sentence, Story, Value } from '../console.types';

type Name<S extends string> = S extends `${infer N}:${string}` ? N : S;
type Names<S extends string> = S extends `${infer First} ${infer Rest}` ? Name<First> | Names<Rest> : Name<S>;

/** The values of a row or of facts, by name. The kind of a column turns a plain value into an instant, a duration, a size or a link. */
type Values<S extends string> = Readonly<Record<Names<S>, Value | undefined>>;

/** A list: its columns, and how its rows are made. */
export interface Table<S extends string> {
  readonly columns: readonly Column[];
  /** @param address address of the item that the row shows; a cell of kind `link` with a plain text leads to this address */
  row(values: Values<S>, address?: Address, level?: Sentence['level'] | false): Row;
  /** Returns a page of the list. @param nextCursor undefined if no page follows */
  page(rows: readonly Row[], nextCursor?: string): Listing;
  /** Returns the list if it has only one page. */
  all(rows: readonly Row[]): Listing;
}

/**
 * Makes a list from a text of names and kinds, such as `id:link state dueAtMs:instant`. A name without a kind has the kind `text`.
 * Empty texts, missing values and the instant 0 become null. Levels `ok` and `info` of a row are left out.
 */
export function table<S extends string>(text: S): Table<S> {
  const columns = columnsOf(text);
  return {
    columns,
    row: (values, address, level) => ({
      ...(address && { address }),
      cells: columns.map(({ name, kind }) => valueOf(kind, values[name as Names<S>], address)),
      ...((level === 'warning' || level === 'error') && { level }),
    }),
    page: (rows, nextCursor) => ({ columns, rows, ...(nextCursor !== undefined && { nextCursor }) }),
    all: (rows) => ({ columns, rows, total: rows.length }),
  };
}

/** Returns facts of a story: names and kinds as in `table`, and their values. */
export function facts<S extends string>(text: S, values: Values<S>): Story['facts'] {
  return columnsOf(text).map(({ name, kind }) => ({ name, value: valueOf(kind, values[name as Names<S>]) }));
}

function columnsOf(text: string): readonly Column[] {
  return text.split(' ').map((one) => {
    const [name = '', kind] = one.split(':');
    return { name, ...(kind !== undefined && { kind: kind as NonNullable<Column['kind']> }) };
  });
}

function valueOf(kind: Column['kind'], value: Value | undefined, address?: Address): Value {
  if (value === undefined || value === null || value === '') return null;
  if (kind === 'link' && typeof value === 'string') return address ? { link: address, text: value } : value;
  if (typeof value !== 'number') return value;
  if (kind === 'instant') return value === 0 ? null : { atMs: value };
  return kind === 'duration' ? { ms: value } : kind === 'bytes' ? { bytes: value } : value;
}
