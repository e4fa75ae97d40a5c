import { type ArgumentsHost, Catch, type ExceptionFilter } from "@nestjs/common";
import { ThrottlerException } from "@nestjs/throttler";

interface Reply {
  status(code: number): { json(body: unknown): void };
}

@Catch(ThrottlerException)
export class SlowDownFilter implements ExceptionFilter {
  catch(exception: ThrottlerException, host: ArgumentsHost) {
    const reply = host.switchToHttp().getResponse<Reply>();
    reply.status(exception.getStatus()).json({ message: "Slow down" });
  }
}
