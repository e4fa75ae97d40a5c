import { Controller, Delete, Get, Param, Post, UseFilters, UseGuards } from "@nestjs/common";
import { SkipThrottle, Throttle, ThrottlerGuard, seconds } from "@nestjs/throttler";
import { SlowDownFilter } from "./slow-down.filter";

/** Orders have tighter limits than the rest. */
@Controller("orders")
@UseGuards(ThrottlerGuard)
@UseFilters(SlowDownFilter)
@Throttle({ burst: { limit: 2, ttl: seconds(30) } })
export class OrdersController {
  @Get()
  list() {
    return [];
  }

  @Post()
  create() {
    return { id: 1 };
  }

  @SkipThrottle({ burst: true, steady: true })
  @Get(":id/status")
  status(@Param("id") id: string) {
    return { id, status: "open" };
  }

  @Throttle({ burst: { limit: 1, ttl: 30 * 1000 }, steady: { limit: 2, ttl: seconds(600) } })
  @Delete(":id")
  remove() {
    return { removed: true };
  }
}
