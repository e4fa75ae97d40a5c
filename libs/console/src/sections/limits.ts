import type { RateLimitService } from 'luanest/rate-limit';
import { CONSOLE, isIdOf } from '../../../internal/src';
import type { Address, Listing, Row, Section, SectionFactory, Sentence } from '../console.types';
import { parseFilter } from './filters';
import { ask, globOf, scanPage, scanSentences } from './scan';
import { say } from './sentences';
import { input, link, nothing, oneOf, unknownAddress } from './support';
import { facts, table } from './table';

type Console = ReturnType<RateLimitService[typeof CONSOLE]>;
type Rule = ReturnType<Console['rules']>[number];
type Look = Awaited<ReturnType<Console['look']>>[number];
/** The part of RateLimitEnforcer that the console needs: it returns the rules of routes. */
interface Enforcer {
  readonly plans: { [CONSOLE](): readonly Rule[] };
}

const RULES = ['limits', 'rules'] as const;
const FILTERS_OF_BLOCKS = ['rule:'] as const;
const SUBJECTS = ['limits', 'subjects'] as const;
/** Maximum length of a subject that the console looks up, in characters. */
const MAX_SUBJECT = 4_096;

/**
 * Section of the rate limits. It shows the rules, how many requests a subject (the counted client or user) has left, and which subjects are
 * blocked.
 */
export const limitsSection: SectionFactory = (app, context) => {
  const service = app.find('RateLimitService') as RateLimitService | undefined;
  if (service === undefined) return undefined;
  const enforcer = app.find('RateLimitEnforcer') as Enforcer | undefined;
  const limits = service[CONSOLE]();

  /**
   * Returns the rules in the options of the module, those of routes, and those that the app has passed to calls. Of several rules that
   * share their counters, returns only the first.
   */
  const rules = (): readonly Rule[] => {
    const all = [...limits.rules(), ...(enforcer?.plans[CONSOLE]() ?? [])];
    const id = ({ name, algorithm, windowMs }: Rule): string => `${algorithm}:${windowMs}:${name}`;
    return [...new Map(all.reverse().map((rule) => [id(rule), rule])).values()].reverse();
  };
  const named = (name: string | undefined): readonly Rule[] => rules().filter((rule) => rule.name === name);
  const rulesIn = (address: Address): readonly Rule[] => {
    const [, list, subject, rule] = address;
    const found = rule === undefined ? rules() : named(rule);
    const known = list === 'subjects' && subject !== undefined && address.length <= 4 && found.length > 0;
    return known ? found : unknownAddress(address);
  };

  return {
    name: 'limits',
    lists: [
      { name: 'rules', filters: [] },
      { name: 'blocked', filters: FILTERS_OF_BLOCKS },
    ],
    actions: [
      { name: 'reset', danger: false, on: 'one' },
      { name: 'block', danger: true, on: 'one', input: [{ name: 'blockMs', kind: 'duration', required: true }] },
    ],

    summary() {
      const all = rules();
      const refusals = new Map(all.map(({ name }) => [name, limits.refusals(name).count]));
      const total = [...refusals.values()].reduce((sum, count) => sum + count, 0);
      return Promise.resolve({
        figures: [
          { name: 'rules', value: all.length, address: RULES },
          { name: 'refusalsOfThisProcess', value: total, address: RULES },
        ],
        sentences: [],
      });
    },

    list(address, { filter, cursor, limit }) {
      const [, list, subject, name] = address;
      if (address.length === 2 && list === 'rules') return Promise.resolve(listRules(rules(), limits));
      if (address.length === 2 && list === 'blocked') return blocked(filter, cursor, limit);
      if (address.length === 4 && list === 'rules' && name === 'blocked') {
        return blocked(`rule:${String(subject)}`, cursor, limit);
      }
      return unknownAddress(address);
    },

    async show(address) {
      const [, list, id, name] = address;
      if (address.length === 3 && list === 'rules') {
        const found = named(id);
        return found.length === 0 ? undefined : ruleStory(found, limits);
      }
      if (list !== 'subjects' || !isIdOf(id, MAX_SUBJECT) || address.length > 4) return undefined;
      const wanted = name === undefined ? rules() : named(name);
      if (name !== undefined && wanted.length === 0) return undefined;
      const looks = await limits.look(wanted, id);
      const listing = LOOKS.all(looks.map((look) => lookRow(id, look)));
      return {
        title: id,
        facts: [],
        sentences: [sentenceOf(id, looks)],
        lists: [{ name: 'rules', listing }],
        actions: ['reset', 'block'],
      };
    },

    async find(id) {
      const matches = named(id)
        .slice(0, 1)
        .map(({ name }) => ({ address: [...RULES, name], kind: 'rule', title: name }));
      if (!isIdOf(id, MAX_SUBJECT)) return matches;
      const looks = await limits.look(rules(), id);
      if (!looks.some(({ used, blocked }) => used > 0 || blocked)) return matches;
      const subject = { address: [...SUBJECTS, id], kind: 'subject', title: id, sentence: sentenceOf(id, looks) };
      return [...matches, subject];
    },

    async preview(action, target, given) {
      const address = oneOf(target);
      const [wanted, subject] = [rulesIn(address), address[2] as string];
      if (action === 'block') blockMsOf(given);
      const looks = await limits.look(wanted, subject);
      const affected = action === 'block' ? looks : looks.filter(({ used, blocked }) => used > 0 || blocked);
      if (affected.length === 0) return nothing(sentenceOf(subject, looks));
      const samples = affected.slice(0, 10).map(({ rule }) => rule.name);
      return { count: affected.length, more: false, samples };
    },

    async run(action, target, given) {
      const address = oneOf(target);
      const [wanted, subject] = [rulesIn(address), address[2] as string];
      if (action === 'reset') {
        const deleted = await Promise.all(wanted.map((rule) => limits.reset(rule, subject)));
        return { count: deleted.filter((had) => had).length };
      }
      const blockMs = blockMsOf(given);
      await Promise.all(wanted.map((rule) => limits.block(rule, subject, blockMs)));
      return { count: wanted.length };
    },
  };

  async function blocked(filter: string | undefined, cursor: string | undefined, limit: number): Promise<Listing> {
    const { registry } = limits;
    if (registry === undefined) return BLOCKS.page([]);
    const { rule } = parseFilter(filter, FILTERS_OF_BLOCKS);
    const keys = registry.keySpace('rate-limit').tag('any');
    const [start, kind] = keys.key('penalty').split('{any}') as [string, string];
    const named = rule === undefined ? '' : (keys.key('penalty', rule).split('{any}')[1] as string).slice(kind.length);
    const pattern = `${globOf(start)}{*}${globOf(kind + named)}:*`;
    const nowMs = context.nowMs();
    const { items, nextCursor } = await scanPage(registry, pattern, { cursor, limit }, async (keys, node) => {
      const texts = await Promise.all(keys.map((key) => ask(node, 'MGET', [key])));
      return keys.flatMap((key, i): Row[] => {
        const [value] = texts[i] as [Buffer | null];
        const block = limits.blockOf(key, value && String(value));
        if (block === undefined || block.endsAtMs <= nowMs) return [];
        const { subject, hashed, endsAtMs, strikes } = block;
        const address = [...SUBJECTS, subject, block.rule];
        const of = hashed ? subject : link([...SUBJECTS, subject]);
        const values = { subject: of, rule: block.rule, blockedUntilAtMs: endsAtMs, strikes };
        return [BLOCKS.row(values, hashed ? undefined : address)];
      });
    });
    return { ...BLOCKS.page(items, nextCursor), sentences: scanSentences(items, nextCursor, limit) };
  }
};

const RULE_ROWS = table(
  'rule:link algorithm limit:number windowMs:duration burst:number blockMs:duration mode refusalsOfThisProcess:number lastRefusalAtMs:instant',
);
const LOOKS = table('rule:link state used:number limit:number remaining:number endsAtMs:instant');
const BLOCKS = table('subject:link rule blockedUntilAtMs:instant strikes:number');

function blockMsOf({ blockMs }: Readonly<Record<string, string | number>>): number {
  return input.integer('blockMs', Number(blockMs ?? NaN), 1, Number.MAX_SAFE_INTEGER);
}

/** Returns the text for a setting of a rule, such as its limit; `per-request` if the setting is a function of the request. */
function perRequest(value: number | ((...args: never) => unknown)): number | string {
  return typeof value === 'number' ? value : 'per-request';
}

function listRules(rules: readonly Rule[], limits: Console): Listing {
  const rows = rules.map((rule) => {
    const { name, algorithm, limit, windowMs, burst, blockMs, shadow } = rule;
    const { count, lastAtMs } = limits.refusals(name);
    const settings = {
      algorithm,
      limit: perRequest(limit),
      windowMs,
      burst,
      blockMs: blockMs > 0 ? blockMs : undefined,
    };
    const refusals = { refusalsOfThisProcess: count, lastRefusalAtMs: lastAtMs };
    return RULE_ROWS.row({ rule: name, mode: shadow ? 'shadow' : 'enforced', ...settings, ...refusals }, [
      ...RULES,
      name,
    ]);
  });
  return RULE_ROWS.all(rows);
}

/**
 * Returns the page with the details of a rule.
 *
 * @param found all rules with this name; several rules may have the same name if their algorithm or window differs, and each has its own
 *   counters
 */
function ruleStory(found: readonly Rule[], limits: Console): Awaited<ReturnType<Section['show']>> {
  const [{ name, cost, count, maxBlockMs, onRedisError }] = found as [Rule];
  const { count: refusals, lastAtMs } = limits.refusals(name);
  const limit = { cost: perRequest(cost), count, maxBlockMs: maxBlockMs > 0 ? maxBlockMs : undefined, onRedisError };
  const of = { refusalsOfThisProcess: refusals, lastRefusalAtMs: lastAtMs };
  const names =
    'cost count maxBlockMs:duration onRedisError refusalsOfThisProcess lastRefusalAtMs:instant blockedSubjects:link';
  return {
    title: name,
    facts: facts(names, { ...limit, ...of, blockedSubjects: { link: [...RULES, name, 'blocked'], text: name } }),
    sentences: [],
    lists: [{ name: 'variants', listing: listRules(found, limits) }],
    actions: [],
  };
}

function lookRow(subject: string, look: Look): Row {
  const { rule, blocked } = look;
  const state = stateOf(look);
  const level = state !== 'allowed' && (blocked ? 'error' : 'warning');
  const values = { ...look, rule: rule.name, state, limit: perRequest(rule.limit) };
  return LOOKS.row(values, [...SUBJECTS, subject, rule.name], level);
}

function stateOf({ blocked, remaining }: Look): 'blocked' | 'limited' | 'allowed' {
  return blocked ? 'blocked' : remaining === 0 ? 'limited' : 'allowed';
}

function sentenceOf(subject: string, looks: readonly Look[]): Sentence {
  const fix = (rule: string) => ({ action: 'reset', address: [...SUBJECTS, subject, rule] });
  const blocked = looks.find((look) => stateOf(look) === 'blocked');
  if (blocked) {
    const values = { subject, rule: blocked.rule.name, endsAtMs: blocked.endsAtMs };
    return say('subject-blocked', values, fix(values.rule));
  }
  const limited = looks.find((look) => stateOf(look) === 'limited' && !look.rule.shadow);
  if (limited) {
    const values = { subject, rule: limited.rule.name, used: limited.used, endsAtMs: limited.endsAtMs };
    return say('subject-limited', values, fix(values.rule));
  }
  const used = looks.some((look) => look.used > 0);
  return used ? say('subject-counted', { subject }) : say('subject-not-counted', { subject });
}
