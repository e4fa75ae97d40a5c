import type { ExecutionContext } from '@nestjs/common';

export interface Plan {
  readonly name: 'free' | 'pro';
  readonly requestsPerMinute: number;
}

export interface Account {
  readonly id: string;
  readonly plan: Plan;
}

export interface ApiRequest {
  readonly ip: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

const free: Plan = { name: 'free', requestsPerMinute: 10 };
const pro: Plan = { name: 'pro', requestsPerMinute: 100 };

/** Your database has these. Two keys of one account share its limits. */
const accounts = new Map<string, Account>([
  ['key-of-ann', { id: 'ann', plan: free }],
  ['key-of-bob', { id: 'bob', plan: pro }],
  ['second-key-of-bob', { id: 'bob', plan: pro }],
]);

export const requestOf = (context: ExecutionContext): ApiRequest => context.switchToHttp().getRequest<ApiRequest>();

export const accountOf = ({ headers }: ApiRequest): Account | undefined => accounts.get(headers['x-api-key'] ?? '');
