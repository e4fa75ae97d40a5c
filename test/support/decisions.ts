import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const ROOT = join(__dirname, '..', '..');
const FILE = 'DECISIONS.md';
/** Folders whose files may have decisions, and may refer to them. */
const FOLDERS = ['bench', 'docs', 'libs', 'src', 'test', 'tools'];
const REFERENCE = /\bSee ((?:[\w.-]+\/)*)DECISIONS\.md: ([\w-]+)/g;
const CODE = /\.(ts|mjs|cjs|js|lua|md)$/;
const NOT_OURS = /(^|\/)(node_modules|dist|coverage|data)\/|\/generated\.ts$|(^|\/)DECISIONS\.md$/;

/** Parts of a decision in their order. All but the measurement are required. */
const PARTS = ['Context', 'Decision', 'Cost', 'Measurement', 'Date'];
const DATE = /^\d{4}-\d\d-\d\d(, revised \d{4}-\d\d-\d\d)?$/;

/** A decision in a DECISIONS.md. */
export interface Decision {
  readonly name: string;
  /** Text of each part, by its label. */
  readonly parts: ReadonlyMap<string, string>;
}

/** A reference to a decision in a file of the repository. */
export interface Reference {
  readonly file: string;
  readonly name: string;
  /** Path from the root of the document that must have it; undefined if no folder above the file has one. */
  readonly document: string | undefined;
}

function filesBelow(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file));
}

/** Returns the paths of all DECISIONS.md, from the root. */
export function decisionDocuments(): string[] {
  return FOLDERS.flatMap(filesBelow).filter((file) => file.endsWith(`/${FILE}`) && !file.includes('node_modules/'));
}

/** Returns the decisions of a document's text, in their order. */
export function decisionsIn(text: string): Decision[] {
  return text
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const [name = ''] = section.split('\n', 1);
      const parts = section.matchAll(/^- \*\*(.+?):\*\* ?((?:.*\n?)(?:^ {2}.*\n?)*)/gm);
      return { name, parts: new Map([...parts].map(([, label = '', part = '']) => [label, part.trim()])) };
    });
}

/** Returns the faults in the form of a document's text; empty if there are none. */
export function faultsIn(text: string): string[] {
  const decisions = decisionsIn(text);
  const names = decisions.map(({ name }) => name);
  const listed = [...text.matchAll(/\[([^\]]+)\]\(#([^)]+)\)/g)].map(([, shown, anchor]) => [shown, anchor]);
  const faults = decisions.flatMap(({ name, parts }) => {
    const found = [...parts.keys()];
    const expected = PARTS.filter((part) => part !== 'Measurement' || parts.has(part));
    return [
      ...(/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) ? [] : [`"${name}" is not a name of lower-case words with dashes`]),
      ...(found.join() === expected.join() ? [] : [`${name} has the parts ${found.join(', ')}`]),
      ...found.filter((part) => parts.get(part) === '').map((part) => `${name} has no text for ${part}`),
      ...(DATE.test(parts.get('Date') ?? '') ? [] : [`${name} has no date`]),
    ];
  });
  const twice = names.filter((name, i) => names.indexOf(name) !== i).map((name) => `${name} is there twice`);
  const same = JSON.stringify(listed) === JSON.stringify(names.map((name) => [name, name]));
  return [...faults, ...twice, ...(same ? [] : ['the table of contents does not list these decisions in their order'])];
}

/** Returns the references to decisions in the text of a file. @param file path from the root */
export function referencesIn(file: string, text: string): Reference[] {
  return [...text.matchAll(REFERENCE)].map(([, folder = '', name = '']) => ({
    file,
    name,
    document: folder === '' ? nearest(dirname(file)) : join(folder, FILE),
  }));
}

/** Returns the references to decisions in all files of the repository. */
export function allReferences(): Reference[] {
  const files = FOLDERS.flatMap(filesBelow).filter((file) => CODE.test(file) && !NOT_OURS.test(file));
  return files.flatMap((file) => referencesIn(file, readFileSync(join(ROOT, file), 'utf8')));
}

function nearest(folder: string): string | undefined {
  const path = join(ROOT, folder, FILE);
  if (existsSync(path)) return relative(ROOT, path);
  return folder === '.' ? undefined : nearest(dirname(folder));
}
