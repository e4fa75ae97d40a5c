import type {
  Action,
  Address,
  Done,
  Listing,
  Row,
  Section,
  SectionContext,
  SectionFactory,
  Sentence,
  Value,
} from '../src/console.types';
import { checked } from '../src/sections/support';

/** Makes a section of services, as the module does of an app that has only these. */
export function sectionOf(
  factory: SectionFactory,
  services: Readonly<Record<string, unknown>>,
  nowMs = () => Date.now(),
): Section {
  const context: SectionContext = { payload: (payload) => ({ payload }), nowMs };
  const section = factory({ find: (name) => services[name] }, context);
  if (section === undefined) throw new Error(`No section was made of ${Object.keys(services).join(', ')}`);
  return checked(section);
}

/** A cell as plain JSON has it: the text of a link, the number of an instant or a duration. */
function plain(value: Value): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('link' in value) return value.text;
  if ('atMs' in value) return value.atMs;
  return 'ms' in value ? value.ms : value;
}

/** Rows of a listing, as objects with a field for each column. */
export function rowsOf({ columns, rows }: Listing): Record<string, unknown>[] {
  for (const { cells } of rows) expect(cells).toHaveLength(columns.length);
  return rows.map(({ cells }: Row) =>
    Object.fromEntries(columns.map(({ name }, i) => [name, plain(cells[i] as Value)])),
  );
}

/** All rows of a list, page by page. */
export async function allRows(
  section: Section,
  address: Address,
  limit = 50,
  filter?: string,
): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  let cursor: string | undefined;
  do {
    const page: Listing = await section.list(address, {
      limit,
      ...(cursor !== undefined && { cursor }),
      ...(filter !== undefined && { filter }),
    });
    rows.push(...rowsOf(page));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return rows;
}

/** Facts of a story, as an object, and the codes of its sentences. */
export async function factsOf(section: Section, address: Address): Promise<Record<string, unknown>> {
  const story = await section.show(address);
  if (story === undefined) throw new Error(`There is no story at ${address.join('/')}`);
  return {
    ...Object.fromEntries(story.facts.map(({ name, value }) => [name, plain(value)])),
    codes: story.sentences.map(({ code }) => code),
    actions: story.actions,
  };
}

/** The numbers of a summary, as an object, and the codes of its sentences. */
export async function figuresOf(section: Section): Promise<Record<string, unknown>> {
  const { figures, sentences } = await section.summary();
  return {
    ...Object.fromEntries(figures.map(({ name, value }) => [name, plain(value)])),
    codes: sentences.map(({ code }) => code),
  };
}

/** How many things the action of a sentence would change. */
export async function countOfFix(section: Section, sentences: readonly Sentence[] = [], code = sentences[0]?.code) {
  const fix = sentences.find((each) => each.code === code)?.fix;
  if (fix === undefined) throw new Error(`No sentence ${code} with an action`);
  const { action, ...target } = fix;
  return (await section.preview(action, target, {})).count;
}

/** Runs an action on one thing as the page does: shows what it will do, and then does it. */
export async function act(
  section: Section,
  action: Action['name'],
  address: Address,
  input: Readonly<Record<string, string | number>> = {},
): Promise<Done> {
  const { expected } = await section.preview(action, { address }, input);
  return section.run(action, { address }, input, expected);
}
