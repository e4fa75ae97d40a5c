import type { ExecutionContext } from '@nestjs/common';
import type { RateLimitRule } from 'luanest/rate-limit';
import { accountOf, requestOf } from './accounts.js';

const account = (context: ExecutionContext) => accountOf(requestOf(context));
const isAnonymous = (context: ExecutionContext) => account(context) === undefined;
const hasAccount = (context: ExecutionContext) => !isAnonymous(context);

/**
 * The rules of every route. A request counts under each rule that is not skipped. If one of them refuses it, it counts under none.
 */
export const rules: [RateLimitRule, ...RateLimitRule[]] = [
  // By address. An unknown key counts here, too, so nobody can try keys without a limit.
  { name: 'anonymous', limit: 5, windowMs: 60_000, skip: hasAccount },
  // By account, as its plan allows. A customer who changes the plan gets the new limit with the next request.
  {
    name: 'plan',
    limit: (context) => account(context)?.plan.requestsPerMinute ?? 0,
    windowMs: 60_000,
    algorithm: 'sliding-window',
    subject: (context) => account(context)?.id,
    skip: isAnonymous,
  },
  // Six at once and then one every two seconds, whatever the plan.
  {
    name: 'burst',
    limit: 30,
    windowMs: 60_000,
    algorithm: 'token-bucket',
    burst: 6,
    subject: (context) => account(context)?.id,
    skip: isAnonymous,
  },
];
