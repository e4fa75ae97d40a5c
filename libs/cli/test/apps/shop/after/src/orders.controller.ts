import { Controller, Delete, Get, Param, Post, UseFilters, UseGuards } from "@nestjs/common";
import { RateLimit, RateLimitGuard, SkipRateLimit } from "luanest/rate-limit";
import { SlowDownFilter } from "./slow-down.filter";

/** Orders have tighter limits than the rest. */
@Controller("orders")
@UseGuards(RateLimitGuard)
@UseFilters(SlowDownFilter)
export class OrdersController {
  @SkipRateLimit("burst")
  @RateLimit({ limit: 2, windowMs: 30_000 })
  @Get()
  list() {
    return [];
  }

  @SkipRateLimit("burst")
  @RateLimit({ limit: 2, windowMs: 30_000 })
  @Post()
  create() {
    return { id: 1 };
  }

  @SkipRateLimit("burst", "steady")
  @Get(":id/status")
  status(@Param("id") id: string) {
    return { id, status: "open" };
  }

  @SkipRateLimit("burst", "steady")
  @RateLimit({ name: "OrdersController.remove.burst", limit: 1, windowMs: 30 * 1000 }, { name: "OrdersController.remove.steady", limit: 2, windowMs: 600_000 })
  @Delete(":id")
  remove() {
    return { removed: true };
  }
}
