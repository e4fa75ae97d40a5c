/**
 * A value that the page shows. The name of the property says what kind of value it is: `atMs` an instant (ms since 1970), `ms` a duration,
 * `bytes` a size. So the page can show an instant as "3 min ago".
 */
export type Value =
  | string
  | number
  | boolean
  | null
  | { atMs: number }
  | { ms: number }
  | { bytes: number }
  | { payload: unknown }
  | { link: Address; text: string };
/**
 * Address of an item: section, list, and the names that lead to the item, such as ['queues', 'tasks', 'emails', 'order-7']. The URL
 * of the page contains it.
 */
export type Address = readonly string[];
/** A message for the operator. The page translates its `code`. Programs without a translation show `text` (English). */
export interface Sentence {
  code: string;
  text: string;
  level: 'ok' | 'info' | 'warning' | 'error';
  values?: Readonly<Record<string, string | number>>;
  /** The action that puts right what the sentence reports, and its target. */
  fix?: { action: string } & Target;
}
export interface Column {
  name: string;
  kind?: 'text' | 'number' | 'instant' | 'duration' | 'bytes' | 'link' | 'payload';
}
export interface Row {
  address?: Address;
  cells: readonly Value[];
  level?: Sentence['level'];
}
export interface Listing {
  columns: readonly Column[];
  rows: readonly Row[];
  nextCursor?: string;
  total?: number;
  sentences?: readonly Sentence[];
}
export interface Story {
  title: string;
  facts: readonly { name: string; value: Value }[];
  sentences: readonly Sentence[];
  lists?: readonly { name: string; listing: Listing }[];
  actions: readonly string[];
}
export interface Summary {
  figures: readonly { name: string; value: Value; address?: Address }[];
  sentences: readonly Sentence[];
}
export interface Match {
  address: Address;
  kind: string;
  title: string;
  sentence?: Sentence;
}
export interface ListQuery {
  filter?: string;
  cursor?: string;
  limit: number;
}
/** Target of an action: one item, or all items of a list that match a filter. */
export type Target = { address: Address } | { list: Address; filter?: string };
export interface Action {
  name: string;
  danger: boolean;
  on: 'one' | 'all' | 'both';
  /** Names of the lists that offer this action for all items that match a filter. Default: all lists. */
  lists?: readonly string[];
  input?: readonly { name: string; kind: 'text' | 'number' | 'instant' | 'duration'; required: boolean }[];
}
export interface Preview {
  count: number;
  more: boolean;
  samples: readonly string[];
  sentence?: Sentence;
  /** State of the item. The page sends it again with the action, which is refused if the item has changed. */
  expected?: string;
}
export interface Done {
  count: number;
  refused?: Sentence;
}
export interface Section {
  readonly name: string; // first part of all addresses in the section, such as 'queues'
  readonly lists: readonly { name: string; filters: readonly string[] }[];
  readonly actions: readonly Action[];
  summary(): Promise<Summary>; // the number of commands to Redis must not grow with the data
  list(address: Address, query: ListQuery): Promise<Listing>;
  show(address: Address): Promise<Story | undefined>;
  find(id: string): Promise<readonly Match[]>;
  preview(action: string, target: Target, input: Readonly<Record<string, string | number>>): Promise<Preview>;
  run(
    action: string,
    target: Target,
    input: Readonly<Record<string, string | number>>,
    expected: string | undefined,
  ): Promise<Done>;
}
/** Functions of the console that a section may call. */
export interface SectionContext {
  payload(value: unknown): Value;
  nowMs(): number;
}
/**
 * Creates the section of a lib, such as that of the queues. Returns undefined if the app did not import the module of the lib. A section
 * gets the services of its lib by name, such as `LockService`, from `app.find`, and imports only types of the lib. So the console does not
 * load libs that the app did not import.
 */
export type SectionFactory = (
  app: { find(className: string): unknown },
  context: SectionContext,
) => Section | undefined;
