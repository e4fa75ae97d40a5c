import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPage } from '../../../tools/build-page.mjs';
import { NAMES_EN } from '../page/words/names-en.js';
import { NAMES_ZH } from '../page/words/names-zh.js';
import { WORDS } from '../page/words/page.js';
import { SENTENCES_ZH } from '../page/words/sentences-zh.js';
import { ALL_SENTENCES } from '../src/sections/sentences';

const SECTIONS = join(__dirname, '../src/sections');

/** All that the sections are written in. */
const sources = existsSync(SECTIONS)
  ? readdirSync(SECTIONS).map((name) => ({ name, text: readFileSync(join(SECTIONS, name), 'utf8') }))
  : [];

/** Distinct texts that a pattern's first group finds in the sections. */
const literals = (pattern: RegExp): string[] => [
  ...new Set(sources.flatMap(({ text }) => [...text.matchAll(pattern)].map((match) => match[1] as string))),
];

const marksIn = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(([mark]) => mark).sort();

it('has each text in both languages, with the same values', () => {
  for (const [name, [en, zh]] of Object.entries(WORDS)) expect([name, marksIn(zh)]).toEqual([name, marksIn(en)]);
});

it('has Chinese for each English name', () => {
  expect(Object.keys(NAMES_EN).filter((name) => !(name in NAMES_ZH))).toEqual([]);
});

it('has Chinese for each sentence of the sections', () => {
  const codes = [...ALL_SENTENCES.keys()];
  expect(codes.filter((code) => !(code in SENTENCES_ZH))).toEqual([]);
  expect(literals(/\bcode: '([\w-]+)'/g)).toEqual([]);
});

it('has Chinese for each name of the sections', () => {
  const names = literals(/\b(?:name|kind|action): '([\w-]+)'/g);
  const known = (name: string): boolean => name in NAMES_ZH || KINDS_OF_VALUES.has(name);
  expect(names.filter((name) => !known(name))).toEqual([]);
});

it('has Chinese for each count of the history', () => {
  const counts = literals(/'(?:[a-z]+)\.([a-z]+)'/g);
  expect(counts).toEqual(expect.arrayContaining(['done', 'retried', 'refused']));
  expect(counts.filter((name) => !(name in NAMES_ZH))).toEqual([]);
});

/** Kinds of columns and inputs, which nobody reads. */
const KINDS_OF_VALUES = new Set(['text', 'number', 'instant', 'duration', 'bytes', 'link', 'payload']);

it('is sent in less than 150,000 bytes, without markup that runs in the page itself', () => {
  const files = buildPage();
  const sent = [...files].filter(([name]) => name !== 'licences.txt');
  expect(sent.map(([name]) => name)).toEqual(['index.html', 'console.js', 'console.css', 'favicon.svg']);
  expect(sent.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0)).toBeLessThan(150_000);
  expect(files.get('index.html')).not.toMatch(/<style|style=|<script>| on\w+=|https?:/);
  expect(files.get('console.css')).not.toMatch(/url\(|@import/);
  // The Apache licence asks for its own text.
  expect(files.get('licences.txt')).toMatch(/^preact \S+ \(MIT\)[\s\S]*htm \S+ \(Apache-2.0\)/);
});
