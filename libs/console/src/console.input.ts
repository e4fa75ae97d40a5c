import { Checks, InvalidInputError, isIntegerOf, shown, type KnownOptions } from '../../internal/src';
import type { Action, Address, ListQuery, Section, Target } from './console.types';

const MAX_PARTS = 10;
const MAX_CHARS = 1_024;
const MAX_INPUT_CHARS = 10_000;
const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;

const checks = new Checks('', (message) => new InvalidInputError(message));

/** A checked request to preview or to run an action. */
export interface ActionRequest {
  readonly section: Section;
  readonly action: string;
  readonly target: Target;
  readonly input: Readonly<Record<string, string | number>>;
  readonly expected: string | undefined;
}

interface Body {
  readonly section: unknown;
  readonly action: unknown;
  readonly target: unknown;
  readonly input?: unknown;
  readonly expected?: unknown;
}

const KNOWN_BODY: KnownOptions<Body> = { section: true, action: true, target: true, input: true, expected: true };

/**
 * Returns a parameter of the query string; undefined if it is missing or empty.
 *
 * @throws InvalidInputError if the parameter occurs twice or is too long
 */
export function textOf(query: Readonly<Record<string, unknown>>, name: string, max = MAX_CHARS): string | undefined {
  const value = query[name];
  return value === undefined || value === '' ? undefined : checks.id(name, value, max);
}

/** Returns a required parameter of the query string. @throws InvalidInputError if the parameter is missing */
export function neededText(query: Readonly<Record<string, unknown>>, name: string): string {
  return textOf(query, name) ?? checks.refuse(name, query[name], `1 to ${MAX_CHARS} characters`);
}

/** Parses an integer of 1 to `max` in the query string. Returns `other` if the parameter is missing. */
export function integerOf(query: Readonly<Record<string, unknown>>, name: string, max: number, other: number): number {
  const text = textOf(query, name);
  if (text === undefined) return other;
  return checks.integer(name, /^\d{1,9}$/.test(text) ? Number(text) : text, 1, max);
}

/** Parses the address of an item in the query string: its parts are joined by "/", and each is encoded with encodeURIComponent. */
export function addressOf(query: Readonly<Record<string, unknown>>): Address {
  const text = textOf(query, 'address', MAX_PARTS * MAX_CHARS) ?? '';
  try {
    return addressFrom('address', text.split('/').map(decodeURIComponent));
  } catch (error) {
    if (error instanceof URIError) checks.refuse('address', text, 'parts that are encoded by encodeURIComponent');
    throw error;
  }
}

/** Parses the parameters `filter`, `cursor` and `limit` of the query string. */
export function listQueryOf(query: Readonly<Record<string, unknown>>): ListQuery {
  const filter = textOf(query, 'filter');
  const cursor = textOf(query, 'cursor', 4_096);
  return {
    limit: integerOf(query, 'limit', MAX_LIMIT, DEFAULT_LIMIT),
    ...(filter !== undefined && { filter }),
    ...(cursor !== undefined && { cursor }),
  };
}

/** Parses the cursor of the log of actions in the query string: up to 17 digits, or '' for the first page. */
export function logCursorOf(query: Readonly<Record<string, unknown>>): string {
  const cursor = textOf(query, 'cursor') ?? '';
  return /^\d{0,17}$/.test(cursor) ? cursor : checks.refuse('cursor', cursor, 'the nextCursor of a page');
}

/**
 * Checks the body of a request to preview or run an action.
 *
 * @throws InvalidInputError that names the field, its value and the allowed values
 */
export function actionRequestOf(body: unknown, sections: readonly Section[]): ActionRequest {
  const given = checks.options('', body as Body, KNOWN_BODY);
  const section = sections.find(({ name }) => name === given.section);
  if (section === undefined) {
    return checks.refuse('section', given.section, `one of ${sections.map(({ name }) => name).join(', ')}`);
  }
  const action = section.actions.find(({ name }) => name === given.action);
  if (action === undefined) {
    return checks.refuse('action', given.action, `one of ${section.actions.map(({ name }) => name).join(', ')}`);
  }
  const { expected } = given;
  return {
    section,
    action: action.name,
    target: targetOf(given.target, section, action),
    input: inputOf(given.input ?? {}, action.input ?? []),
    expected: expected === undefined || expected === null ? undefined : checks.id('expected', expected, 4_096),
  };
}

function targetOf(given: unknown, section: Section, { name, on }: Action): Target {
  const target = checks.object('target', given as Record<string, unknown>);
  const isOne = Object.hasOwn(target, 'address');
  if (isOne ? on === 'all' : on === 'one') {
    throw checks.error(`The action ${name} needs ${isOne ? 'a list, target.list' : 'one address, target.address'}.`);
  }
  const path = isOne ? 'target.address' : 'target.list';
  const address = addressFrom(path, isOne ? target['address'] : target['list']);
  if (address[0] !== section.name) checks.refuse(`${path}[0]`, address[0], `${shown(section.name)}, the section`);
  if (isOne) return { address };
  const { filter } = target;
  return filter === undefined || filter === '' || filter === null
    ? { list: address }
    : { list: address, filter: checks.id('target.filter', filter, MAX_CHARS) };
}

function addressFrom(name: string, value: unknown): Address {
  const parts = checks.list(name, value);
  if (parts.length === 0 || parts.length > MAX_PARTS) checks.refuse(name, value, `1 to ${MAX_PARTS} parts`);
  return parts.map((part, at) => checks.id(`${name}[${at}]`, part, MAX_CHARS));
}

function inputOf(given: unknown, wanted: NonNullable<Action['input']>): Record<string, string | number> {
  const values = checks.object('input', given as Record<string, unknown>);
  const unknown = Object.keys(values).find((name) => !wanted.some((each) => each.name === name));
  if (unknown !== undefined) checks.refuse(`input.${unknown}`, values[unknown], 'no input of this name');
  const entries = wanted.flatMap(({ name, kind, required }) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    const isMissing = value === undefined || value === null || value === '';
    if (isMissing && !required) return [];
    return [[name, kind === 'text' ? checks.id(`input.${name}`, value, MAX_INPUT_CHARS) : numberOf(name, kind, value)]];
  });
  return Object.fromEntries(entries) as Record<string, string | number>;
}

function numberOf(name: string, kind: 'number' | 'instant' | 'duration', value: unknown): number {
  if (kind === 'number' && typeof value === 'number' && Number.isFinite(value)) return value;
  if (kind !== 'number' && isIntegerOf(value, 0, Number.MAX_SAFE_INTEGER)) return value;
  return checks.refuse(`input.${name}`, value, kind === 'number' ? 'a number' : 'an integer >= 0, ms');
}
