import { Controller, Get, UseGuards } from "@nestjs/common";
import { ThrottlerGuard } from "@nestjs/throttler";

@UseGuards(ThrottlerGuard)
@Controller("products")
export class ProductsController {
  @Get()
  list() {
    return [{ id: 1 }];
  }
}
