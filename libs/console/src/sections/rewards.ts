import type { ReadRewardService, RefundResult } from 'luanest/read-reward';
import { CONSOLE, isIdOf } from '../../../internal/src';
import type { Address, Done, Listing, SectionFactory, Sentence } from '../console.types';
import { say } from './sentences';
import { link, one, oneOf, pageOf, refused, unknownAddress } from './support';
import { facts, table } from './table';

type RewardStatus = Awaited<ReturnType<ReadRewardService['status']>>[number];
type Console = ReturnType<ReadRewardService[typeof CONSOLE]>;

const RULES = ['rewards', 'rules'] as const;
const USERS = ['rewards', 'users'] as const;
/** Maximum length of the id of a user, in characters. */
const MAX_ID = 256;

/**
 * Section of the points that users got for reading distinct items. It shows the rules and the grants of a period. An operator can take a
 * grant back.
 */
export const rewardsSection: SectionFactory = (app) => {
  const service = app.find('ReadRewardService') as ReadRewardService | undefined;
  if (service === undefined) return undefined;
  const rewards = service[CONSOLE]();
  const isRule = (name: string | undefined): name is string => rewards.rules().some((rule) => rule.name === name);

  return {
    name: 'rewards',
    lists: [{ name: 'rules', filters: [] }],
    actions: [{ name: 'take-back', danger: true, on: 'one' }],

    summary: () =>
      Promise.resolve({
        figures: [{ name: 'rules', value: rewards.rules().length, address: RULES }],
        sentences: [],
      }),

    async list(address, { cursor, limit }) {
      const [, list, userId, rule, items] = address;
      if (address.length === 2 && list === 'rules') return listRules(rewards);
      if (list !== 'users' || !isIdOf(userId, MAX_ID) || !isRule(rule) || items !== 'items' || address.length !== 5) {
        return unknownAddress(address);
      }
      const page = await rewards.items(rule, userId, pageOf({ limit, cursor }));
      return listItems([...USERS, userId, rule, 'items'], page);
    },

    async show(address) {
      const [, list, userId, rule, items, grantId] = address;
      if (list !== 'users' || !isIdOf(userId, MAX_ID)) return undefined;
      if (address.length === 3) {
        const rows = await service.status(userId);
        return {
          title: userId,
          facts: [],
          sentences: rows.map(sentenceOf),
          lists: [{ name: 'rules', listing: listStatus(userId, rows) }],
          actions: [],
        };
      }
      if (!isRule(rule)) return undefined;
      if (address.length === 4) {
        const [all, page] = await Promise.all([service.status(userId), rewards.items(rule, userId, { limit: 50 })]);
        const row = all.find((each) => each.rule === rule) as RewardStatus;
        return {
          title: userId,
          facts: facts('rule points used remaining resetsAtMs:instant', row),
          sentences: [sentenceOf(row)],
          lists: [{ name: 'items', listing: listItems([...address, 'items'], page) }],
          actions: [],
        };
      }
      const grant = address.length === 6 && items === 'items' ? grantOf(rewards, address) : undefined;
      if (grant === undefined) return undefined;
      return {
        title: grant.itemId,
        facts: facts('rule user:link grantId', {
          ...{ rule: grant.rule, user: link([...USERS, userId]), grantId: String(grantId) },
        }),
        sentences: [],
        actions: ['take-back'],
      };
    },

    async find(id) {
      if (!isIdOf(id, MAX_ID)) return [];
      const rows = await service.status(id);
      const points = rows.reduce((sum, row) => sum + row.points, 0);
      if (points === 0 && rows.every(({ used }) => used === 0)) return [];
      const sentence: Sentence = say('user-has-points', { user: id, points });
      return [{ address: [...USERS, id], kind: 'user', title: id, sentence }];
    },

    preview(_action, target) {
      const { itemId } = grantOf(rewards, oneOf(target)) ?? unknownAddress(oneOf(target));
      return Promise.resolve(one(itemId, rewards.ledger ? say('take-back-in-ledger') : say('take-back-by-hand')));
    },

    async run(_action, target) {
      const address = oneOf(target);
      if (grantOf(rewards, address) === undefined) return unknownAddress(address);
      return doneOf(await service.refund(address[5] as string));
    },
  };
};

/**
 * Parses the grant in an address. Returns undefined if the address is not that of a grant, or if the user or rule in the address is not
 * that of the grant.
 */
function grantOf(rewards: Console, address: readonly string[]): ReturnType<Console['parse']> | undefined {
  const [, list, userId, rule, items, grantId] = address;
  if (address.length !== 6 || list !== 'users' || items !== 'items' || grantId === undefined) return undefined;
  const grant = rewards.parse(grantId);
  return grant.userId === userId && grant.rule === rule ? grant : undefined;
}

function doneOf({ status, points }: RefundResult): Done {
  if (status === 'refunded') return { count: 1 };
  if (status === 'already-refunded') return refused(say('grant-taken-back-before'));
  if (status === 'expired') return refused(say('grant-expired', { points }));
  return refused(say('grant-unknown'));
}

function sentenceOf({ rule, points, used, remaining, resetsAtMs }: RewardStatus): Sentence {
  const values = { rule, points, used, remaining, ...(resetsAtMs !== null && { resetsAtMs }) };
  return remaining === 0 ? say('reward-capped', values) : say('reward-open', values);
}

const RULE_ROWS = table('rule period timeZone limit:number pointsPerItem:number capPoints:number dedupe');
const STATUS = table('rule:link points:number used:number remaining:number resetsAtMs:instant');
const ITEMS = table('item:link points:number');

function listRules(rewards: Console): Listing {
  const rows = rewards.rules().map(({ name, capPoints, ...rule }) => {
    return RULE_ROWS.row({ ...rule, rule: name, capPoints: capPoints > 0 ? capPoints : undefined });
  });
  return RULE_ROWS.all(rows);
}

function listStatus(userId: string, all: readonly RewardStatus[]): Listing {
  return STATUS.all(all.map((row) => STATUS.row(row, [...USERS, userId, row.rule])));
}

function listItems(address: Address, { items, nextCursor }: Awaited<ReturnType<Console['items']>>): Listing {
  const rows = items.map(({ itemId, points, grantId }) => ITEMS.row({ item: itemId, points }, [...address, grantId]));
  return ITEMS.page(rows, nextCursor);
}
