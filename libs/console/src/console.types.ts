/** A value on the page. Instants and durations are marked, so that the page can write "3 min ago". */
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
/** Where a thing is: section, list, then the names that lead to it, such as ['queues', 'tasks', 'emails', 'order-7']. It is the page's URL, too. */
export type Address = readonly string[];
/** A sentence of a fixed list: the page translates `code`, others print `text` (English). */
export interface Sentence {
  code: string;
  text: string;
  level: 'ok' | 'info' | 'warning' | 'error';
  values?: Readonly<Record<string, string | number>>;
  fix?: { action: string; address: Address };
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
/** One thing, or all that match a filter of a list. */
export type Target = { address: Address } | { list: Address; filter?: string };
export interface Action {
  name: string;
  danger: boolean;
  on: 'one' | 'all' | 'both';
  /** Names of the lists that offer it for all that match a filter. Default: each list. */
  lists?: readonly string[];
  input?: readonly { name: string; kind: 'text' | 'number' | 'instant' | 'duration'; required: boolean }[];
}
export interface Preview {
  count: number;
  more: boolean;
  samples: readonly string[];
  sentence?: Sentence;
  /** Given back with the action: refuses if the thing is another one by then (a fence, a state). */ expected?: string;
}
export interface Done {
  count: number;
  refused?: Sentence;
}
export interface Section {
  readonly name: string; // 'queues', the first part of each of its addresses
  readonly lists: readonly { name: string; filters: readonly string[] }[];
  readonly actions: readonly Action[];
  summary(): Promise<Summary>; // constant number of commands
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
/** Functions that sections may use. */
export interface SectionContext {
  payload(value: unknown): Value;
  nowMs(): number;
}
/** Each file of sections/ exports one: undefined if the app did not import that lib's module. It finds the service by class name through Nest's ModuleRef/DiscoveryService, so that a lib that the app did not import is not loaded (import type only). */
export type SectionFactory = (
  app: { find(className: string): unknown },
  context: SectionContext,
) => Section | undefined;
