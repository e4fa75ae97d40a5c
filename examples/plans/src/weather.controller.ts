import { Controller, Get, Req } from '@nestjs/common';
import { RateLimit, RateLimitResult, type RateLimitDecision } from 'luanest/rate-limit';
import { accountOf, type ApiRequest } from './accounts.js';
import { rules } from './limits.js';

const [first, ...others] = rules;

@Controller()
export class WeatherController {
  @Get('weather')
  weather(): { city: string; degrees: number } {
    return { city: 'Oslo', degrees: 7 };
  }

  /** Shows what is left. The same rules with a cost of 0 count nothing, so a dashboard may call it often. */
  @Get('limits')
  @RateLimit({ ...first, cost: 0 }, ...others.map((rule) => ({ ...rule, cost: 0 })))
  left(@Req() request: ApiRequest, @RateLimitResult() decision: RateLimitDecision) {
    return {
      plan: accountOf(request)?.plan.name ?? 'anonymous',
      left: Object.fromEntries(decision.rules.map(({ name, remaining }) => [name, remaining])),
    };
  }
}
