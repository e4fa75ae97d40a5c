import { Controller, Get, Post } from '@nestjs/common';
import { RateLimit, SkipRateLimit } from 'luanest/rate-limit';

@Controller('cats')
export class CatsController {
  @Get()
  findAll() {
    return ['Tom'];
  }

  // Creating a cat is expensive.
  @SkipRateLimit('default')
  @RateLimit({ limit: 2 /* a minute */, windowMs: 60_000 })
  @Post()
  create() {
    return 'created';
  }

  @SkipRateLimit()
  @Get('health')
  health() {
    return 'ok';
  }
}
