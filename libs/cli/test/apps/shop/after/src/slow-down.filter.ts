import { type ArgumentsHost, Catch, type ExceptionFilter } from "@nestjs/common";
import { RateLimitException } from "luanest/rate-limit";

interface Reply {
  status(code: number): { json(body: unknown): void };
}

@Catch(RateLimitException)
export class SlowDownFilter implements ExceptionFilter {
  catch(exception: RateLimitException, host: ArgumentsHost) {
    const reply = host.switchToHttp().getResponse<Reply>();
    reply.status(exception.getStatus()).json({ message: "Slow down" });
  }
}
