import type { INestApplication } from "@nestjs/common";
import { Test } from "@nestjs/testing";
import { AppModule } from "../src/app.module";

describe("shop (e2e)", () => {
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    const moduleRef = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = moduleRef.createNestApplication();
    await app.listen(0, "127.0.0.1");
    url = await app.getUrl();
  });
  afterAll(() => app.close());

  const statuses = async (n: number, path: string, method = "GET") => {
    const found: number[] = [];
    for (let i = 0; i < n; i++) found.push((await fetch(url + path, { method })).status);
    return found;
  };

  it("limits products", async () => {
    expect(await statuses(4, "/products")).toEqual([200, 200, 200, 429]);
  });

  it("limits each route of orders by itself", async () => {
    expect(await statuses(3, "/orders")).toEqual([200, 200, 429]);
    expect(await statuses(3, "/orders", "POST")).toEqual([201, 201, 429]);
  });

  it("has its own body for refusals", async () => {
    const reply = await fetch(`${url}/orders`);
    expect(reply.status).toBe(429);
    expect(await reply.json()).toEqual({ message: "Slow down" });
  });

  it("limits removals most, and the status not at all", async () => {
    expect(await statuses(2, "/orders/7", "DELETE")).toEqual([200, 429]);
    expect(await statuses(6, "/orders/7/status")).toEqual(Array(6).fill(200));
  });
});
