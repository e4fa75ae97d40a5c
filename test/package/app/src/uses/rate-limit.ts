import {
  Controller,
  Get,
  Module,
  Param,
  UnauthorizedException,
  UseGuards,
  type INestApplication,
} from '@nestjs/common';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  RateLimitResult,
  RateLimitService,
  SkipRateLimit,
  type RateLimitDecision,
} from 'luanest/rate-limit';

@Controller('cats')
@UseGuards(RateLimitGuard)
class CatsController {
  @RateLimit({ limit: 2, windowMs: 60_000 })
  @Get()
  find(): string {
    return 'Tom';
  }

  // Its own counter is named after the route; the handler sees the decision.
  @RateLimit({ limit: 5, windowMs: 60_000, algorithm: 'sliding-log' })
  @Get(':id/friends')
  friends(@RateLimitResult() limits: RateLimitDecision | undefined): string {
    return limits?.rules.map(({ name, remaining }) => `${remaining} left of ${name}`).join() ?? 'unlimited';
  }

  // Only failures count, and here none but the wrong password fails.
  @RateLimit({ name: 'log-in', limit: 1, windowMs: 60_000, count: 'failures' })
  @Get('log-in/:password')
  logIn(@Param('password') password: string): string {
    if (password !== 'fish') throw new UnauthorizedException();
    return 'in';
  }

  @SkipRateLimit()
  @Get('free')
  free(): string {
    return 'free';
  }
}

@Module({ imports: [RateLimitModule.forRoot({ deadlineMs: 5_000 })], controllers: [CatsController] })
export class RateLimitUse {}

/** Waits until only failures are counted: hits are given back when a response has been sent. */
async function givenBack(service: RateLimitService, failures: number): Promise<void> {
  for (let i = 0; i < 100; i += 1) {
    const rule = { name: 'log-in', limit: 1, windowMs: 60_000 };
    if ((await service.peek(rule, '127.0.0.1')).rules[0]?.used === failures) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function useRateLimit(app: INestApplication, url: string): Promise<string> {
  const answers: number[] = [];
  for (let i = 0; i < 3; i += 1) answers.push((await fetch(`${url}/cats`)).status);
  const service = app.get(RateLimitService);
  const { allowed } = await service.consume({ name: 'mail', limit: 1, windowMs: 60_000 }, 'ann');
  const refused = await fetch(`${url}/cats`);
  const friends = await (await fetch(`${url}/cats/7/friends`)).text();
  const logIns: number[] = [];
  for (const password of ['fish', 'fish', 'dog', 'fish']) {
    logIns.push((await fetch(`${url}/cats/log-in/${password}`)).status);
    await givenBack(service, password === 'dog' || logIns.includes(401) ? 1 : 0);
  }
  const free = await fetch(`${url}/cats/free`);
  return [
    `route answered ${answers.join(', ')}, service ${allowed ? 'allowed' : 'refused'}`,
    `refused as ${refused.headers.get('content-type')?.split(';')[0]}`,
    friends,
    `logged in ${logIns.join(', ')}`,
    `${free.headers.get('ratelimit') === null ? 'no' : 'a'} limit on the free route`,
  ].join('; ');
}
