import { Controller, Get, Post } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';

@Controller('cats')
export class CatsController {
  @Get()
  findAll() {
    return ['Tom'];
  }

  // Creating a cat is expensive.
  @Throttle({ default: { limit: 2 /* a minute */, ttl: 60_000 } })
  @Post()
  create() {
    return 'created';
  }

  @SkipThrottle()
  @Get('health')
  health() {
    return 'ok';
  }
}
