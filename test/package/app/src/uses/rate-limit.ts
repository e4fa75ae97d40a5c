import { Controller, Get, Module, UseGuards, type INestApplication } from '@nestjs/common';
import { RateLimit, RateLimitGuard, RateLimitModule, RateLimitService } from 'luanest/rate-limit';

@Controller('cats')
@UseGuards(RateLimitGuard)
class CatsController {
  @RateLimit({ limit: 2, windowMs: 60_000 })
  @Get()
  find(): string {
    return 'Tom';
  }
}

@Module({ imports: [RateLimitModule.forRoot({ deadlineMs: 5_000 })], controllers: [CatsController] })
export class RateLimitUse {}

export async function useRateLimit(app: INestApplication, url: string): Promise<string> {
  const answers: number[] = [];
  for (let i = 0; i < 3; i += 1) answers.push((await fetch(`${url}/cats`)).status);
  const { allowed } = await app.get(RateLimitService).consume({ name: 'mail', limit: 1, windowMs: 60_000 }, 'ann');
  return `route answered ${answers.join(', ')}, service ${allowed ? 'allowed' : 'refused'}`;
}
