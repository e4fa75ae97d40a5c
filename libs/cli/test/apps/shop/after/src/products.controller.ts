import { Controller, Get, UseGuards } from "@nestjs/common";
import { RateLimitGuard } from "luanest/rate-limit";

@UseGuards(RateLimitGuard)
@Controller("products")
export class ProductsController {
  @Get()
  list() {
    return [{ id: 1 }];
  }
}
